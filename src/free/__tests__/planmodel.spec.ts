import { gib } from '../../__tests__/mockup';
import { fullPlan, holder, plan, remedy } from '../../__tests__/plans';
import type { Plan } from '../../service/wire';
import { busyChoices } from '../busymodel';
import { poolAdvice } from '../hints';
import {
  buttonText,
  footnote,
  notOffered,
  requestFor,
  shownRemedies,
  whyOff,
  worstLoss
} from '../planmodel';
import {
  initialSelection,
  plainStep,
  stepsOf,
  totalOf,
  type ISelection,
  type RemedyId
} from '../selection';
import { parkSentence, stepCost, stepLabel } from '../words';
import { language, trans } from './fakes';

const NBSP = '\u00a0';
const size = (text: string) => text.replace(/ GiB/g, `${NBSP}GiB`);

const open = initialSelection(plan({ remedies: [] }));
const ticked = (...ids: RemedyId[]): ISelection => ({
  ...open,
  ticks: new Set(ids)
});
const find = (from: Plan, id: RemedyId) =>
  from.remedies.find(remedy => remedy.id === id)!;

describe('what is shown', () => {
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
    expect(whyOff(trans, some.remedies[1], open)).toBe('Busy.');
  });

  it('says a common reason once', () => {
    const refused = (id: RemedyId, why_not: string) =>
      remedy(id, null, { offered: false, why_not });
    const some = plan({
      remedies: [
        refused('park', 'A thread runs.'),
        refused('release-cache', 'Nothing is held.'),
        refused('unpin-outputs', 'Nothing is held.'),
        refused('delete', 'Nothing is held.')
      ]
    });
    expect(notOffered(some)).toEqual([
      {
        ids: ['release-cache', 'unpin-outputs', 'delete'],
        why: 'Nothing is held.'
      }
    ]);
    expect(shownRemedies(some, 'nothing').map(({ id }) => id)).toEqual([
      'park'
    ]);
    expect(shownRemedies(some, 'work')).toEqual([]);
  });

  it('has no step for bringing parked memory back', () => {
    expect(
      shownRemedies(plan({ remedies: [remedy('restore', null)] }), 'nothing')
    ).toEqual([]);
  });

  it('says what covers a step', () => {
    expect(
      whyOff(trans, find(plan(), 'release-cache'), ticked('restart'))
    ).toBe('Already covered by the restart.');
    expect(
      whyOff(trans, find(fullPlan(), 'unpin-outputs'), ticked('park'))
    ).toBe('Already covered by Park.');
    expect(
      whyOff(trans, remedy('end-children', 1), ticked('restart'))
    ).toContain('listed then');
  });
});

describe('words', () => {
  it('prefers words that can be translated, where the step says the same', () => {
    const loses = 'The server’s sentence.';
    const cost = (id: RemedyId) =>
      stepCost(language, plan(), open, remedy(id, 1, { loses }));
    expect(cost('restart')).toContain('You lose every variable.');
    expect(cost('unpin-outputs')).toBe(loses);
  });

  it('counts what a restart loses', () => {
    expect(
      stepCost(language, fullPlan(), open, remedy('restart', 1))
    ).toContain('You lose every variable: 14 variables and 1 model.');
  });

  it('names what is deleted, and says before that there is no undo', () => {
    const full = fullPlan();
    const cost = (...names: string[]) =>
      stepCost(
        language,
        full,
        { ...open, names: new Set(names) },
        find(full, 'delete')
      );
    expect(cost()).toBe('Choose which. There is no undo.');
    expect(cost('emb_matrix')).toBe(
      'You lose emb_matrix. 1 of 2 chosen. There is no undo.'
    );
    expect(cost('a', 'b', 'c', 'd')).toContain('You lose 4 variables.');
  });

  it('cuts long names', () => {
    const name = 'x'.repeat(500);
    const long = fullPlan({ holders_in_kernel: [holder(name, 1)] });
    const [step] = stepsOf(long, { ...open, names: new Set([name]) });
    expect(footnote(language, [step], step.amount, gib(1)).length).toBeLessThan(
      60
    );
    expect(step.request.names).toEqual([name]);
  });

  it('says what parking would do', () => {
    const park = fullPlan().park!;
    expect(parkSentence(language, park)).toBe(
      size(
        'All 31 tensors can move. Host RAM free: 38.2 GiB. Restored when you run a cell, or with Restore.'
      )
    );
    expect(
      parkSentence(language, {
        ...park,
        count: 29,
        stays: [holder('buffer', 0.1), holder('pinned', 0.1)],
        stays_bytes: gib(0.2),
        differs: 0.12
      })
    ).toBe(
      size(
        '29 tensors can move. 0.2 GiB stays on the GPU: buffer and pinned. What was found differs by 12\u00a0% from what the framework says is in use. Host RAM free: 38.2 GiB. Restored when you run a cell, or with Restore.'
      )
    );
  });

  it('calls the session by what the kernel uses', () => {
    const use = { live: 1, cached: 0, context: null, peak: null };
    const keras = plan({ frameworks: { tensorflow: use } });
    expect(stepLabel(trans, keras, 'clear-session')).toBe(
      'Clear the Keras session'
    );
    expect(stepLabel(trans, plan(), 'clear-session')).toBe(
      'Drop compiled code'
    );
  });

  it('names the result on the button', () => {
    const text = (...ids: RemedyId[]) => {
      const steps = ids.map(id =>
        plainStep(remedy(id, id === 'collect' ? null : 11.2))
      );
      return buttonText(
        language,
        steps,
        totalOf(plan({ bytes: null, remedies: [] }), steps)
      );
    };
    expect(text('restart')).toBe(`Restart and free 11.2${NBSP}GiB`);
    expect(text('collect')).toBe('Free memory');
    expect(text()).toBe('Free memory');
  });

  it('says what is expected, or what is lost', () => {
    const full = fullPlan();
    const note = (selection: ISelection) => {
      const steps = stepsOf(full, selection);
      return footnote(language, steps, totalOf(full, steps), gib(11.2));
    };
    expect(note(ticked('release-cache'))).toBe(
      size('Expected: 3.8 GiB of 11.2 GiB, nothing lost')
    );
    expect(
      footnote(
        language,
        stepsOf(full, ticked('release-cache')),
        { bytes: 0, is: 'exact' },
        gib(11.2)
      )
    ).toBe('What is ticked returns nothing now');
    expect(note(ticked('unpin-exceptions', 'unpin-outputs'))).toBe(
      'You lose: history'
    );
    expect(
      note({
        ...ticked('unpin-exceptions'),
        names: new Set(['emb_matrix'])
      })
    ).toBe('You lose: history and emb_matrix');
    expect(note(ticked('restart'))).toBe('You lose: every variable');
    expect(note(open)).toBe('Nothing is ticked');
  });

  it('turns to the warning colour as soon as work is lost', () => {
    const worst = (...ids: RemedyId[]) =>
      worstLoss(ids.map(id => plainStep(remedy(id, 1))));
    expect(worst('park', 'release-cache')).toBe('nothing');
    expect(worst('release-cache', 'unpin-outputs')).toBe('history');
    expect(worst('unpin-outputs', 'delete')).toBe('work');
  });
});

describe('requests', () => {
  it('asks for the steps in order', () => {
    expect(
      requestFor(stepsOf(plan(), ticked('release-cache')), 'idle')
    ).toEqual({ remedies: [{ id: 'release-cache' }], when: 'idle' });
  });

  it('never asks for nothing', () => {
    expect(() => requestFor([])).toThrow(RangeError);
  });
});

describe('frameworks that keep their pool', () => {
  it('says so, and how to save and start otherwise', () => {
    const kept = plan({
      pools: ['tensorflow'],
      holders_in_kernel: [
        holder('weights', 3),
        holder('forecast', 2, { kind: 'Sequential' })
      ]
    });
    const [{ sentence, hints }] = poolAdvice(trans, kept);
    expect(sentence).toContain(
      'TensorFlow keeps its memory pool until the process ends.'
    );
    expect(hints.map(({ title }) => title)).toEqual([
      'Save first',
      'So it grows as needed next time (first cell)'
    ]);
    expect(hints[0].code).toBe('forecast.save("forecast.keras")');
    expect(hints[1].code).toContain('set_memory_growth(gpu, True)');
  });

  it('puts no name into code that is none', () => {
    const [{ hints }] = poolAdvice(
      trans,
      plan({
        pools: ['tensorflow'],
        holders_in_kernel: [
          holder('m', 1, { kind: 'Model', name: 'm"); import os #' })
        ]
      })
    );
    expect(hints[0].code).toBe('model.save("model.keras")');
  });

  it('hides steps that return nothing, but for what people try first', () => {
    const kept = plan({
      pools: ['tensorflow'],
      remedies: [
        remedy('collect', 0, { default: true }),
        remedy('unpin-outputs', 0),
        remedy('clear-session', 0),
        remedy('restart', 9.4)
      ]
    });
    expect(shownRemedies(kept, 'nothing')).toEqual([]);
    expect(shownRemedies(kept, 'history')).toEqual([]);
    expect(shownRemedies(kept, 'work').map(({ id }) => id)).toEqual([
      'clear-session',
      'restart'
    ]);
    expect(initialSelection(kept).ticks.size).toBe(0);
    expect(initialSelection({ ...kept, pools: [] }).ticks.size).toBe(1);
  });

  it('has a sentence for one that it knows no code for', () => {
    expect(poolAdvice(trans, plan({ pools: ['other'] }))).toEqual([
      { sentence: expect.stringContaining('other keeps its'), hints: [] }
    ]);
    expect(poolAdvice(trans, plan())).toEqual([]);
  });
});

describe('busy kernels', () => {
  const busy = plan({
    state: 'busy',
    remedies: [
      remedy('park', 6.9, { offered: false, why_not: 'Busy.' }),
      remedy('release-cache', 2.6, { offered: false, why_not: 'Busy.' }),
      remedy('interrupt', null),
      remedy('restart', 15.8)
    ]
  });

  it('waits, interrupts or restarts, and parks nothing unasked', () => {
    const choices = busyChoices(busy);
    expect(choices.map(({ id, when }) => [id, when])).toEqual([
      ['wait', 'idle'],
      ['interrupt', 'now'],
      ['restart', 'now']
    ]);
    expect(choices[0].steps.map(({ id }) => id)).toEqual(['release-cache']);
    expect(choices[1].steps.map(({ id }) => id)).toEqual([
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
