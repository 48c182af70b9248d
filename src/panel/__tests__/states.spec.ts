import { nullTranslator } from '@jupyterlab/translation';
import * as mockup from '../../__tests__/mockup';
import { TAKEN_AT } from '../../__tests__/mockup';
import { formatTime } from '../../format';
import type { Snapshot } from '../../service/wire';
import type { ConnectionStatus } from '../../tokens';
import { panelState } from '../states';
import type { IPanelState } from '../states';

const trans = nullTranslator.load('jupyterlab_vram');

function stateOf(
  snapshot: Snapshot | null,
  status: ConnectionStatus = 'live',
  kept: Snapshot | null = null
): IPanelState {
  return panelState(trans, {
    snapshot,
    status,
    receivedAt: TAKEN_AT,
    now: TAKEN_AT + 48,
    kept,
    locale: 'en'
  });
}

const actions = (state: IPanelState): string[] =>
  (state.empty?.buttons ?? []).map(({ action }) => action);

describe('panelState', () => {
  it('is quiet when all is well', () => {
    expect(stateOf(mockup.panel())).toEqual({
      word: 'live',
      icon: null,
      pausable: true,
      stale: false,
      banner: null,
      empty: null
    });
  });

  it('shows that it looks, before the first answer', () => {
    expect(stateOf(null, 'starting').empty?.skeleton).toBe(true);
    expect(stateOf(null, 'live').empty?.skeleton).toBe(true);
  });

  it('keeps old figures grey when the server is silent, and says from when', () => {
    const state = stateOf(mockup.panel(), 'stale');
    expect(state.word).toBe('stopped 48 s ago');
    expect(state.stale).toBe(true);
    expect(state.empty).toBeNull();
    expect(state.banner?.text).toContain(formatTime(TAKEN_AT, 'en'));
    expect(state.banner?.button?.action).toBe('refresh');
  });

  it('tells how to check a missing server part', () => {
    const state = stateOf(null, 'missing');
    expect(state.empty?.code).toBe('jupyter server extension list');
    expect(state.pausable).toBe(false);
  });

  it('asks for a reload, and says who may not look', () => {
    expect(actions(stateOf(mockup.panel(), 'reload'))).toEqual(['reload']);
    expect(stateOf(null, 'forbidden').empty?.title).toBe(
      'You may not see this'
    );
  });

  it('says when it was paused', () => {
    expect(stateOf(mockup.panel(), 'paused').word).toBe(
      `paused at ${formatTime(TAKEN_AT, 'en')}`
    );
    expect(stateOf(null, 'paused').empty?.title).toBe('Paused');
  });

  it('offers a simulated GPU where there is none, and lists what was tried', () => {
    const state = stateOf(mockup.noGpu());
    expect(state.word).toBe('no GPU');
    expect(state.empty?.tried).toHaveLength(2);
    expect(actions(state)).toEqual(['refresh', 'simulate']);
  });

  it('puts a driver error in a banner and gives details', () => {
    const state = stateOf(mockup.driverMismatch());
    expect(state.banner?.tone).toBe('error');
    expect(state.banner?.text).toContain('Loaded: 570.86. Library: 575.57.');
    expect(state.empty?.title).toBe('Readings need a reboot');
    expect(actions(state)).toEqual(['refresh', 'copy']);
  });

  it('shows the figures of before, grey, while the driver hangs', () => {
    expect(stateOf(mockup.silent()).empty?.title).toBe('No readings');
    const state = stateOf(mockup.silent(), 'live', mockup.panel());
    expect(state.stale).toBe(true);
    expect(state.empty).toBeNull();
    expect(state.banner?.text).toContain(formatTime(TAKEN_AT, 'en'));
  });

  it('says what the driver hides', () => {
    const container = stateOf(mockup.container());
    expect(container.banner?.text).toContain('container');
    expect(container.banner?.button?.action).toBe('admin');
    const windows = stateOf(mockup.windows());
    expect(windows.banner?.text).toContain('≈');
    expect(windows.banner?.button).toBeNull();
  });

  it.each<[Snapshot['state'], string]>([
    ['no-permission', 'no permission'],
    ['lost-access', 'access lost'],
    ['timeout', 'driver hangs'],
    ['stale', 'old numbers'],
    ['version-mismatch', 'driver error']
  ])('has a word for %s even without the server’s words', (state, word) => {
    const found = stateOf(mockup.snapshot({ state }));
    expect(found.word).toBe(word);
    expect(found.empty?.text).not.toBe('');
  });
});
