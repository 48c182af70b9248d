const jestJupyterLab = require('@jupyterlab/testutils/lib/jest-config');

const esModules = [
  '@codemirror',
  '@jupyter/',
  '@jupyterlab/',
  '@kurkle/color',
  '@microsoft',
  '@rjsf',
  'chart.js',
  'exenv-es6',
  'lib0',
  'nanoid',
  'vscode-ws-jsonrpc',
  'y-protocols',
  'y-websocket',
  'yjs'
].join('|');

const baseConfig = jestJupyterLab(__dirname);

module.exports = {
  ...baseConfig,
  automock: false,
  collectCoverageFrom: ['src/**/*.{ts,tsx}', '!src/**/*.d.ts'],
  coverageReporters: ['lcov', 'text'],
  reporters: ['default'],
  modulePathIgnorePatterns: [
    '<rootDir>/python_probe/jupyterlab_vram/labextension',
    '<rootDir>/ui-tests',
    '<rootDir>/.venv'
  ],
  testRegex: 'src/.*/.*.spec.tsx?$',
  transformIgnorePatterns: [`/node_modules/(?!${esModules}).+`]
};
