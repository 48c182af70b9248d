/** Playwright against a real JupyterLab, on the simulated GPU, in the system's Chromium. */
const path = require('node:path');
const galata = require('@jupyterlab/galata/lib/playwright-config');

const port = Number(process.env.VRAM_UI_PORT ?? 8899);
const python = path.join(
  __dirname,
  '..',
  '.venv',
  process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python'
);
const url = at => `http://127.0.0.1:${at}`;
const baseURL = url(port);
process.env.TARGET_URL = baseURL;
// The server that finds no GPU, for no-gpu.spec.ts.
process.env.VRAM_UI_NO_GPU_URL = url(port + 1);

/** A JupyterLab that is started for the tests and ends with them. */
const server = (at, source) => ({
  command: `"${python}" -m jupyter lab --config "${path.join(__dirname, 'jupyter_server_test_config.py')}"`,
  url: `${url(at)}/lab`,
  timeout: 120 * 1000,
  env: { ...process.env, VRAM_UI_PORT: String(at), VRAM_UI_SOURCE: source },
  reuseExistingServer: false
});

module.exports = {
  ...galata,
  timeout: 120 * 1000,
  testDir: path.join(__dirname, 'tests'),
  outputDir: path.join(__dirname, 'test-results'),
  reporter: [
    ['list'],
    [
      'junit',
      {
        outputFile:
          process.env.PLAYWRIGHT_JUNIT_OUTPUT_NAME ??
          path.join(__dirname, 'test-results', 'junit.xml')
      }
    ]
  ],
  retries: process.env.CI ? 1 : 0,
  workers: 1,
  // A machine at work may need a while.
  expect: { timeout: 15 * 1000 },
  use: {
    ...galata.use,
    actionTimeout: 30 * 1000,
    baseURL,
    viewport: { width: 1400, height: 900 },
    video: 'off',
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync'
      ]
    }
  },
  webServer: [server(port, 'simulated'), server(port + 1, 'auto')]
};
