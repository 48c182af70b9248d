/** What axe-core and the themes say of our own nodes. */
import { AxeBuilder } from '@axe-core/playwright';
import { expect, galata } from '@jupyterlab/galata';
import type { Page } from '@playwright/test';

export const THEMES = [
  'JupyterLab Light',
  'JupyterLab Dark',
  'JupyterLab Dark High Contrast'
];

/** Galata's settings with a theme. */
export function withTheme(theme: string): Record<string, unknown> {
  return {
    ...galata.DEFAULT_SETTINGS,
    '@jupyterlab/apputils-extension:themes': { theme }
  };
}

/** Lumino's separators can take the focus, in every menu; not ours to mend. */
const SEPARATORS = ['aria-required-children', 'presentation-role-conflict'];

/** axe-core finds nothing inside the nodes that the selectors name. */
export async function expectAccessible(
  page: Page,
  ...selectors: string[]
): Promise<void> {
  let axe = new AxeBuilder({ page }).setLegacyMode(true);
  if (selectors.includes('.jp-Vram-KernelMenu')) {
    axe = axe.disableRules(SEPARATORS);
  }
  for (const selector of selectors) {
    axe = axe.include(selector);
  }
  const { violations, passes } = await axe.analyze();
  expect(
    violations.map(({ id, nodes }) => ({
      id,
      nodes: nodes.map(({ html, failureSummary }) => [html, failureSummary])
    }))
  ).toEqual([]);
  // Nothing found in nothing would be no finding.
  expect(passes.length).toBeGreaterThan(0);
}
