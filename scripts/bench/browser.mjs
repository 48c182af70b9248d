/** `node browser.mjs FILE`: measure the browser's part and write the rows to FILE as JSON. */
import { writeFileSync } from 'node:fs';
import { exitWith } from '../run.mjs';
import { cells, measureBadge } from './badge.mjs';
import { measureDownload, noteDownloads } from './download.mjs';
import { withLab } from './lab.mjs';

try {
  let downloads;
  const rows = await withLab(
    cells,
    page => {
      downloads = noteDownloads(page);
    },
    async lab => [
      ...(await measureBadge(lab)),
      // After that a notebook was at work for a minute, the panel never opened.
      ...(await measureDownload(lab, downloads))
    ]
  );
  writeFileSync(process.argv[2], JSON.stringify(rows));
} catch (error) {
  exitWith(error);
}
