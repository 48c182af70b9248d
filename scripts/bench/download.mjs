/** What a browser fetches of the extension before the panel is opened. */
import { gzipSync } from 'node:zlib';

const OURS = '/lab/extensions/jupyterlab-vram/';
const MOST = 30;

/** Note from now on what the page fetches of the extension. */
export function noteDownloads(page) {
  const downloads = [];
  page.on('response', response => {
    if (response.url().includes(OURS)) {
      downloads.push(response.body());
    }
  });
  return downloads;
}

/** @returns rows of the table, in the shape of python_probe/bench/row.py */
export async function measureDownload({ page }, downloads) {
  const panel = page.locator('#jp-vram-panel');
  if (await panel.isVisible()) {
    throw new Error('The panel is open already.');
  }
  const before = await size(downloads);
  await page.getByRole('tab', { name: 'GPU memory' }).click();
  await panel.waitFor();
  await page.waitForLoadState('networkidle');
  await page.waitForTimeout(2000);
  const after = await size(downloads);
  if (after <= before) {
    throw new Error('Opening the panel fetched nothing: is all counted?');
  }
  return [
    {
      measure: 'Extension fetched before the panel is opened, gzip',
      ours: `${before.toFixed(1)} KB (${after.toFixed(1)} KB with the panel)`,
      against: `at most ${MOST} KB`,
      ratio: null,
      holds: before <= MOST
    }
  ];
}

/** In KB of 1000 bytes. */
async function size(downloads) {
  const bodies = await Promise.all(downloads);
  const bytes = bodies.map(body => gzipSync(body, { level: 9 }).length);
  return bytes.reduce((sum, each) => sum + each, 0) / 1000;
}
