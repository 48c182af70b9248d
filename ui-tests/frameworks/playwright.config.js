/** As the UI tests' own configuration, with a server and kernels on the simulated driver in C. */
const path = require('node:path');
const shared = require('../playwright.config.js');

const port = Number(process.env.VRAM_FRAMEWORKS_UI_PORT ?? 8897);
const baseURL = `http://127.0.0.1:${port}`;
process.env.TARGET_URL = baseURL;
const python = path.join(__dirname, '..', '..', '.venv', 'bin', 'python');

module.exports = {
  ...shared,
  // Importing torch takes a while on a machine at work.
  timeout: 180 * 1000,
  testDir: __dirname,
  outputDir: path.join(shared.outputDir, 'frameworks'),
  use: { ...shared.use, baseURL },
  // Without the CUDA builds the tests are skipped.
  webServer: process.env.FRAMEWORKS_PYTHON && {
    command: `"${python}" "${path.join(__dirname, 'server.py')}"`,
    url: `${baseURL}/lab`,
    timeout: 120 * 1000,
    env: { ...process.env, VRAM_UI_PORT: String(port) },
    reuseExistingServer: false
  }
};
