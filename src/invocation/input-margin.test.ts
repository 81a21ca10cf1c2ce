import fc from 'fast-check';
import { boundedMargin, type InputMargin, mergedMargin, updatedMargin } from './input-margin.ts';

const START = boundedMargin(undefined, 'chat');

function learn(margin: InputMargin, spelledTokens: number, reported: number): InputMargin {
  return boundedMargin(updatedMargin(margin, { spelledTokens, framingTokens: 20 }, reported), 'chat');
}

const boundOf = ({ ratio, tokens }: InputMargin, spelled: number) => spelled * ratio + tokens + 20;

test('a template that adds 40 % and a preamble is learned from a few calls, long and short', () => {
  const reported = (spelled: number) => spelled * 1.4 + 20 + 200;
  let margin = START;
  for (let call = 0; call < 4; call += 1) {
    margin = learn(margin, 200, reported(200));
    margin = learn(margin, 8_000, reported(8_000));
  }
  for (const spelled of [10, 200, 999, 1_000, 8_000, 50_000]) {
    expect(boundOf(margin, spelled)).toBeGreaterThanOrEqual(reported(spelled) * 0.97);
    expect(boundOf(margin, spelled)).toBeLessThan(reported(spelled) * 1.2 + 50);
  }
});

test('one absurd report moves the margin by a single step, which some fifty honest reports undo', () => {
  const lied = learn(START, 5_000, 5_000_000);
  expect(lied.ratio).toBeCloseTo(1.35, 5);
  let margin = lied;
  for (let call = 0; call < 60; call += 1) {
    margin = learn(margin, 5_000, 5_100);
  }
  expect(margin.ratio).toBeLessThan(1.26);
});

test('whatever is reported, the margin stays between the starting margin and twice that', () => {
  const report = fc.tuple(fc.nat({ max: 100_000 }), fc.nat({ max: 10_000_000 }));
  fc.assert(
    fc.property(fc.array(report, { maxLength: 60 }), (reports) => {
      const margin = reports.reduce((so, [spelled, reported]) => learn(so, spelled, reported), START);
      expect(margin.ratio).toBeGreaterThanOrEqual(1.25);
      expect(margin.ratio).toBeLessThanOrEqual(2.5);
      expect(margin.tokens).toBeGreaterThanOrEqual(0);
      expect(margin.tokens).toBeLessThanOrEqual(2_048);
    }),
  );
});

test('two processes that learn the same margin do not add it up, and a decrease is kept', () => {
  const before = { ratio: 1.25, tokens: 0 };
  const learnt = { ratio: 1.4, tokens: 100 };
  expect(mergedMargin(learnt, before, learnt)).toEqual(learnt);
  const unlearnt = mergedMargin(learnt, learnt, { ratio: 1.3, tokens: 90 });
  expect(unlearnt.ratio).toBeCloseTo(1.3);
  expect(unlearnt.tokens).toBe(90);
});
