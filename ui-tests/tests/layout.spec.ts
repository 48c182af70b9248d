/** What must never be cut, however narrow, large or turned round the panel is. */
import { expect, test } from '@jupyterlab/galata';
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import type { Locator } from '@playwright/test';
import { fleet, panel, simulated, windows } from '../../src/__tests__/mockup';
import { expectAccessible } from './accessible';
import { kernelGrid, openPanel, row } from './lab';
import { fullPlan } from './plans';
import { Readings } from './readings';
import { shoot } from './screens';

test.use({ autoGoto: false });

/** Figures and words that stay whole at any width. */
const WHOLE = [
  '.jp-Vram-Fresh',
  '.jp-Vram-Gpu-memory > b',
  '.jp-Vram-Gpu-memory > .jp-Vram-number',
  '.jp-Vram-GpuRow > .jp-Vram-number',
  '.jp-Vram-Title .jp-Vram-number',
  '.jp-Vram-Row-size',
  '.jp-Vram-Row-status > .jp-Vram-ellipsis:not(.jp-Vram-Row-gpus)'
].join(',');

/** Names may end in an ellipsis, but not vanish: room for the first letters. */
const NAMES = '.jp-Vram-Row-name';

const READINGS = {
  'two GPUs': panel(),
  'eight GPUs': fleet(),
  'a simulated GPU': simulated(),
  'sizes that nobody knows': windows()
};

for (const width of [250, 300]) {
  test(`${width} px`, async ({ page }) => {
    await expectWhole(page, width);
  });
}

test('text of 130 % in 250 px', async ({ page }) => {
  await expectWhole(page, 250, async side => {
    for (let size = 13; size < 17; size++) {
      await page.menu.clickMenuItem('Settings>Theme>Increase UI Font Size');
    }
    await expect(side.locator('.jp-Vram-Panel')).toHaveCSS('font-size', '17px');
  });
});

test('right to left', async ({ page }) => {
  await expectWhole(page, 250, async side => {
    await page.evaluate(() => {
      document.documentElement.dir = 'rtl';
    });
    // The name's side is the right one, the size's the left one.
    const first = kernelGrid(side).getByRole('row').first();
    const name = await first.locator('.jp-Vram-Row-name').boundingBox();
    const size = await first.locator('.jp-Vram-Row-size').boundingBox();
    expect(name!.x).toBeGreaterThan(size!.x);
  });
});

test('a plan’s figures keep their unit behind them from right to left', async ({
  page
}) => {
  const readings = await Readings.serve(page, panel());
  readings.plan = fullPlan();
  await page.goto();
  await row(await openPanel(page), 'embeddings.ipynb').focus();
  await page.keyboard.press('f');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Choose…' }).click();
  await page.evaluate(() => {
    document.documentElement.dir = 'rtl';
  });
  const figures = dialog.getByText(/^[0-9.]+.GiB$/);
  const backwards = await figures.evaluateAll(nodes =>
    nodes
      .map(node => {
        const text = node.firstChild!;
        const at = (index: number): number => {
          const range = document.createRange();
          range.setStart(text, index);
          range.setEnd(text, index + 1);
          return range.getBoundingClientRect().x;
        };
        return at(0) < at(text.textContent!.length - 1) ? '' : text.textContent;
      })
      .filter(text => text !== '')
  );
  expect(await figures.count()).toBeGreaterThan(6);
  expect(backwards).toEqual([]);
});

test('forced colours keep the textures', async ({ page }) => {
  await page.emulateMedia({ forcedColors: 'active' });
  await Readings.serve(page, panel());
  await page.goto();
  const side = await openPanel(page);
  await expect(row(side, 'embeddings.ipynb')).toBeVisible();
  const hues = await side
    .locator('.jp-Vram-Bar [class*="jp-Vram-k"]')
    .evaluateAll(nodes =>
      nodes.map(node => getComputedStyle(node).backgroundColor)
    );
  expect(hues.length).toBeGreaterThan(0);
  expect(new Set(hues).size).toBe(4);
  await shoot(side, 'forced colours');
  await expectAccessible(page, '#jp-vram-panel');
});

for (const reducedMotion of ['reduce', 'no-preference'] as const) {
  test(`nothing moves (prefers-reduced-motion: ${reducedMotion})`, async ({
    page
  }) => {
    await page.emulateMedia({ reducedMotion });
    await Readings.serve(page, panel());
    await page.goto();
    const side = await openPanel(page);
    await row(side, 'embeddings.ipynb').click();
    await expect(side.getByText('In use by PyTorch')).toBeVisible();
    const moving = await page
      .locator('[class*="jp-Vram-"]')
      .evaluateAll(nodes =>
        nodes
          .filter(node => {
            const { animationName, transitionDuration } =
              getComputedStyle(node);
            return animationName !== 'none' || /[1-9]/.test(transitionDuration);
          })
          .map(node => node.className)
      );
    expect(moving).toEqual([]);
  });
}

/** Every reading keeps what must be read, at a width of the panel in pixels, once prepared. */
async function expectWhole(
  page: IJupyterLabPageFixture,
  width: number,
  prepare: (side: Locator) => Promise<void> = async () => undefined
): Promise<void> {
  const readings = await Readings.serve(page, panel());
  await page.goto();
  const side = await openPanel(page);
  await page.sidebar.setWidth(width, 'right');
  await expect
    .poll(async () => Math.abs((await side.boundingBox())!.width - width))
    .toBeLessThanOrEqual(2);
  await expect(row(side, 'embeddings.ipynb')).toBeVisible();
  await prepare(side);
  for (const [name, reading] of Object.entries(READINGS)) {
    await test.step(name, async () => {
      readings.show(reading);
      await expect(
        kernelGrid(side).locator('[role="row"][aria-level="1"]')
      ).toHaveCount(reading.kernels.filter(({ bytes }) => bytes !== 0).length);
      await shoot(side, `${test.info().title} ${name}`);
      expect(await cut(side)).toEqual([]);
    });
  }
  await test.step('a server that does not answer', async () => {
    readings.silence();
    await expect(side).toContainText(/stopped \d+\ss ago/);
    await shoot(side, `${test.info().title} stale`);
    expect(await cut(side)).toEqual([]);
  });
}

/** Texts that don't fit into their boxes or the panel, and what scrolls sideways. */
function cut(side: Locator): Promise<string[]> {
  return side.evaluate(
    (panel, { whole, names }) => {
      const frame = panel.getBoundingClientRect();
      const found: string[] = [];
      const complain = (what: string, node: Element): void => {
        found.push(`${what}: ${node.className} “${node.textContent}”`);
      };
      for (const node of panel.querySelectorAll<HTMLElement>(whole)) {
        if (node.offsetParent === null) {
          continue;
        }
        const { left, right, width } = node.getBoundingClientRect();
        if (width === 0 && node.textContent !== '') {
          complain('gone', node);
        } else if (
          node.scrollWidth > node.clientWidth &&
          node.clientWidth > 0
        ) {
          complain('cut', node);
        } else if (left < frame.left - 0.5 || right > frame.right + 0.5) {
          complain('outside', node);
        }
      }
      for (const node of panel.querySelectorAll<HTMLElement>(names)) {
        if (node.clientWidth < 40) {
          complain('squeezed', node);
        }
      }
      for (const node of panel.querySelectorAll<HTMLElement>('*')) {
        const { overflowX } = getComputedStyle(node);
        if (
          (overflowX === 'auto' || overflowX === 'scroll') &&
          node.scrollWidth > node.clientWidth
        ) {
          complain('scrolls sideways', node);
        }
      }
      return found;
    },
    { whole: WHOLE, names: NAMES }
  );
}
