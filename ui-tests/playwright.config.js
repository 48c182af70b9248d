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
const baseURL = `http://127.0.0.1:${port}`;
process.env.TARGET_URL = baseURL;

module.exports = {
  ...galata,
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
  use: {
    ...galata.use,
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
  webServer: {
    command: `"${python}" -m jupyter lab --config "${path.join(__dirname, 'jupyter_server_test_config.py')}"`,
    url: `${baseURL}/lab`,
    timeout: 120 * 1000,
    env: { ...process.env, VRAM_UI_PORT: String(port) },
    reuseExistingServer: false
  }
};
