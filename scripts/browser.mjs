/** A Chromium for the UI tests: the system's, else the one that Playwright has or can install. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { windows } from './environment.mjs';
import { Stop, answer, step } from './run.mjs';

const NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable'
];
const PLACES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe'
];

/**
 * Path of a Chromium that runs here.
 *
 * @throws Stop if there is none and none can be installed
 */
export async function findChromium() {
  const asked = process.env.CHROMIUM;
  const candidates = asked ? [asked] : [...onPath(), ...PLACES];
  const { chromium } = await import('@playwright/test');
  const own = chromium.executablePath();
  const found = [...candidates, own].find(existsSync);
  if (found) {
    return found;
  }
  try {
    await step('Chromium (by Playwright)', 'npx', [
      'playwright',
      'install',
      'chromium'
    ]);
    return own;
  } catch {
    throw new Stop(
      'The UI tests need a Chromium: none is on PATH and Playwright could not download one. ' +
        'On Debian and Ubuntu: sudo apt-get install chromium. ' +
        'Elsewhere set CHROMIUM to the path of a Chromium or Chrome.'
    );
  }
}

function onPath() {
  if (windows) {
    return [];
  }
  const folders = (process.env.PATH ?? '').split(':').filter(Boolean);
  return NAMES.flatMap(name => folders.map(folder => join(folder, name)));
}

/** Its version line, for the test report. */
export function chromiumVersion(path) {
  return answer(path, ['--version']) ?? 'unknown version';
}
