import { gib } from '../../__tests__/mockup';
import { busyChoices } from '../busymodel';
import {
  addAmounts,
  amountOf,
  amountText,
  buttonText,
  chosen,
  coveredBy,
  fellShort,
  footnote,
  initialTicks,
  remaining,
  requestFor,
  shownRemedies,
  toggle,
  whyOff,
  worstLoss
} from '../planmodel';
import { remedyCost } from '../words';
import { language, plan, remedy, trans } from './fakes';

const NBSP = '\u00a0';

describe('ticks', () => {
  it('opens with what is offered by default only', () => {
    const opened = plan({
      remedies: [
        remedy('collect', null, { default: true, offered: false }),
        remedy('release-cache', 3.8, { default: true }),
        remedy('restart', 11.2)
      ]
    });
    expect([...initialTicks(opened)]).toEqual(['release-cache']);
  });

  it('runs gentle steps first, whatever the order of ticks', () => {
    let ticks = initialTicks(plan({ remedies: [] }));
    ticks = toggle(ticks, 'release-cache');
    ticks = toggle(ticks, 'unpin-exceptions');
    expect(chosen(plan(), ticks).map(({ id }) => id)).toEqual([
      'unpin-exceptions',
      'release-cache'
    ]);
  });

  it('leaves out what the end of the process covers', () => {
    const ticks = new Set(['release-cache', 'restart'] as const);
    expect(coveredBy('release-cache', ticks)).toBe('restart');
    expect(coveredBy('restart', ticks)).toBeNull();
    expect(chosen(plan(), ticks).map(({ id }) => id)).toEqual(['restart']);
    const [release] = plan().remedies;
    expect(whyOff(trans, release, ticks)).toBe(
      'Already covered by “Restart the kernel”.'
    );
  });

  it('shows what is not offered only with its reason', () => {
    const some = plan({
      remedies: [
        remedy('collect', null, { offered: false }),
        remedy('release-cache', null, { offered: false, why_not: 'Busy.' })
      ]
    });
    expect(shownRemedies(some, 'nothing').map(({ id }) => id)).toEqual([
      'release-cache'
    ]);
    expect(whyOff(trans, some.remedies[1], new Set())).toBe('Busy.');
  });
});

describe('sums', () => {
  const exact = remedy('release-cache', 3.8);
  const atMost = remedy('release-cache', 3.8, { gain_is: 'at-most' });
  const unknown = remedy('collect', null);

  it.each([
    [[], { bytes: 0, is: 'exact' }],
    [[exact], { bytes: gib(3.8), is: 'exact' }],
    [[atMost], { bytes: gib(3.8), is: 'at-most' }],
    [[unknown], { bytes: null, is: 'unknown' }],
    [[unknown, exact], { bytes: gib(3.8), is: 'at-least' }],
    [[unknown, atMost], { bytes: gib(3.8), is: 'about' }],
    [[unknown, remedy('release-cache', 0)], { bytes: null, is: 'unknown' }],
    [
      [remedy('release-cache', 0, { gain_is: 'at-most' })],
      { bytes: 0, is: 'exact' }
    ]
  ])('adds up %#', (remedies, amount) => {
    expect(amountOf(remedies, gib(11.2))).toEqual(amount);
  });

  it('adds up amounts that are bounds themselves', () => {
    const one = (is: 'exact' | 'at-least' | 'at-most' | 'about') => ({
      bytes: 1,
      is
    });
    expect(addAmounts([one('exact'), one('exact')])).toEqual({
      bytes: 2,
      is: 'exact'
    });
    expect(addAmounts([one('exact'), one('at-least')]).is).toBe('at-least');
    expect(addAmounts([one('at-most'), one('at-least')]).is).toBe('about');
    expect(addAmounts([one('about'), one('exact')]).is).toBe('about');
  });

  it('never promises more than is held', () => {
    expect(amountOf([exact], gib(1)).bytes).toBe(gib(1));
  });

  it('turns a bound round for what stays', () => {
    const held = gib(11.2);
    expect(remaining(held, { bytes: gib(3.8), is: 'at-most' })).toEqual({
      bytes: held - gib(3.8),
      is: 'at-least'
    });
    expect(remaining(held, { bytes: held, is: 'at-most' }).is).toBe('unknown');
    expect(remaining(null, { bytes: 1, is: 'exact' }).bytes).toBeNull();
  });
});

describe('words', () => {
  it('writes figures as JupyterLab’s language does', () => {
    const amount = { bytes: gib(3.8), is: 'at-most' } as const;
    expect(amountText({ trans, locale: 'de' }, amount)).toBe(
      `up to 3,8${NBSP}GiB`
    );
  });

  it('prefers words that can be translated, where the step says the same', () => {
    const loses = 'The server’s sentence.';
    expect(remedyCost(trans, remedy('restart', 1, { loses }))).toBe(
      'You lose every variable.'
    );
    expect(remedyCost(trans, remedy('unpin-outputs', 1, { loses }))).toBe(
      loses
    );
  });

  it('writes bounds as bounds and unknown as a dash', () => {
    const text = (is: Parameters<typeof amountText>[1]['is']) =>
      amountText(language, { bytes: is === 'unknown' ? null : gib(3.8), is });
    expect(text('exact')).toBe(`3.8${NBSP}GiB`);
    expect(text('at-most')).toBe(`up to 3.8${NBSP}GiB`);
    expect(text('at-least')).toBe(`at least 3.8${NBSP}GiB`);
    expect(text('about')).toBe(`about 3.8${NBSP}GiB`);
    expect(text('unknown')).toBe('—');
  });

  it('names the result on the button', () => {
    const restart = remedy('restart', 11.2);
    const amount = amountOf([restart], null);
    expect(buttonText(language, [restart], amount)).toBe(
      `Restart and free 11.2${NBSP}GiB`
    );
    const collect = remedy('collect', null);
    expect(buttonText(language, [collect], amountOf([collect], null))).toBe(
      'Free memory'
    );
  });

  it('says what is expected, or what is lost', () => {
    const [release, unpin, restart] = plan().remedies;
    const note = (...remedies: (typeof release)[]) =>
      footnote(language, remedies, amountOf(remedies, gib(11.2)), gib(11.2));
    expect(note(release)).toBe(
      `Expected: 3.8${NBSP}GiB of 11.2${NBSP}GiB, nothing lost`
    );
    expect(note(unpin, release)).toBe('You lose: history');
    expect(note(restart)).toBe('You lose: every variable');
    expect(note()).toBe('Nothing is ticked');
    expect(worstLoss([release])).toBe('nothing');
    expect(worstLoss([release, unpin])).toBe('history');
    expect(worstLoss([unpin, restart])).toBe('work');
  });
});

describe('results', () => {
  it('falls short only where a person can see it', () => {
    const expected = { bytes: gib(5.9), is: 'exact' as const };
    expect(fellShort(gib(3.8), expected)).toBe(true);
    expect(fellShort(gib(5.9) - 1000, expected)).toBe(false);
    expect(fellShort(null, expected)).toBe(false);
    expect(fellShort(gib(3.8), { bytes: null, is: 'unknown' })).toBe(false);
  });

  it('gives an upper bound some leeway', () => {
    const expected = { bytes: gib(5), is: 'at-most' as const };
    expect(fellShort(gib(4.6), expected)).toBe(false);
    expect(fellShort(gib(4.4), expected)).toBe(true);
  });
});

describe('requests', () => {
  it('asks for the steps in order', () => {
    expect(requestFor(plan().remedies.slice(0, 1), 'idle')).toEqual({
      remedies: [{ id: 'release-cache' }],
      when: 'idle'
    });
  });

  it('never asks for nothing', () => {
    expect(() => requestFor([])).toThrow(RangeError);
  });
});

describe('busy kernels', () => {
  const busy = plan({
    state: 'busy',
    remedies: [
      remedy('release-cache', 2.6, { offered: false, why_not: 'Busy.' }),
      remedy('interrupt', null),
      remedy('restart', 15.8)
    ]
  });

  it('waits, interrupts or restarts', () => {
    const choices = busyChoices(busy);
    expect(choices.map(({ id, when }) => [id, when])).toEqual([
      ['wait', 'idle'],
      ['interrupt', 'now'],
      ['restart', 'now']
    ]);
    expect(choices[1].remedies.map(({ id }) => id)).toEqual([
      'interrupt',
      'release-cache'
    ]);
    expect(choices[1].amount.bytes).toBe(gib(2.6));
  });

  it('offers nothing where the server offers nothing', () => {
    const shut = busy.remedies.map(each => ({ ...each, offered: false }));
    expect(busyChoices(plan({ state: 'busy', remedies: shut }))).toEqual([]);
  });
});
