import { countTokens } from '../providers/token-counter.ts';
import { StreamMeter } from './stream-meter.ts';

const TEXT = 'Words of an answer, one after the other, some of them exceptionally longwinded. ';

test('counts a stream like the whole text, however it was split', () => {
  for (const size of [1, 3, 7, 1_000]) {
    const meter = new StreamMeter();
    const text = TEXT.repeat(400);
    for (let start = 0; start < text.length; start += size) {
      meter.add({ text: text.slice(start, start + size), reasoning: '' });
    }
    expect(Math.abs(meter.outputTokens() - countTokens(text))).toBeLessThanOrEqual(1);
    expect(meter.length).toBe(text.length);
  }
});

test('reasoning is part of the output and also counted separately', () => {
  const meter = new StreamMeter();
  meter.add({ text: '', reasoning: 'let me think' });
  meter.add({ text: 'done', reasoning: '' });
  expect(meter.reasoningTokens()).toBe(countTokens('let me think'));
  expect(meter.outputTokens()).toBe(countTokens('let me think') + countTokens('done'));
});

test('later reports replace earlier ones, and text that was not delivered is not counted', () => {
  const meter = new StreamMeter();
  const usage = (outputTokens: number) => ({
    inputTokens: 1,
    outputTokens,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  });
  meter.add({ text: 'a', reasoning: '', usage: usage(1) });
  meter.note({ text: 'never seen', reasoning: '', usage: usage(9), finishReason: 'stop' });
  expect(meter).toMatchObject({ usage: usage(9), finishReason: 'stop', length: 1 });
});

test('keeps memory use small', () => {
  const meter = new StreamMeter();
  for (let megabyte = 0; megabyte < 4; megabyte += 1) {
    for (let piece = 0; piece < 1_000; piece += 1) {
      meter.add({ text: TEXT.repeat(13), reasoning: '' });
    }
  }
  expect(meter.length).toBeGreaterThan(4_000_000);
  expect(meter.outputTokens()).toBeGreaterThan(500_000);
});

test('megabytes in one part are counted in steps and estimated until then', () => {
  const meter = new StreamMeter();
  const text = TEXT.repeat(20_000);
  meter.add({ text: 'First ', reasoning: '' });
  meter.add({ text, reasoning: '' });
  expect(meter.isBehind).toBe(true);
  expect(meter.outputTokens()).toBe(Math.ceil((text.length + 6) / 4));
  const steps = [...meter.catchUp()].length;
  expect(steps).toBeGreaterThan(text.length / 32_768);
  expect(meter.isBehind).toBe(false);
  const slack = steps;
  expect(Math.abs(meter.outputTokens() - countTokens(`First ${text}`))).toBeLessThanOrEqual(slack);
});
