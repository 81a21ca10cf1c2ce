import { redactAnswer } from './answer-recorder.ts';

test('replaces content but keeps structure, lengths and piece boundaries', () => {
  const text =
    'data: {"id":"c1","choices":[{"delta":{"content":"Øyvind\\n said \\u00e6 42","tool_calls":[{"function":{"name":"f","arguments":"{\\"city\\":\\"Oslo\\",\\"n\\":12,\\"ok\\":true}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":20}}\n\n';
  const bytes = Buffer.from(text);
  // cuts between the two bytes of the first letter
  const cut = bytes.indexOf(0xc3) + 1;
  const redacted = redactAnswer([bytes.subarray(0, cut), bytes.subarray(cut)]);
  expect(redacted.map((piece) => piece.length)).toEqual([cut, bytes.length - cut]);
  const event = JSON.parse(Buffer.concat(redacted).toString('utf8').slice(6));
  expect(event).toEqual({
    id: 'c1',
    choices: [
      {
        delta: {
          content: 'xxxxxxx\n xxxx x 11',
          tool_calls: [{ function: { name: 'f', arguments: '{"xxxx":"xxxx","x":11,"xx":true}' } }],
        },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 20 },
  });
});

test('keeps counts written as text but replaces digits in content', () => {
  const usage = { prompt_tokens: '20', totalTokens: '28', tokens: ['8'], billed_tokens: 'for Anna 7' };
  const text = JSON.stringify({ choices: [{ text: '20' }], usage });
  expect(JSON.parse(Buffer.concat(redactAnswer([Buffer.from(text)])).toString())).toEqual({
    choices: [{ text: '11' }],
    usage: { ...usage, tokens: ['1'], billed_tokens: 'xxx xxxx 1' },
  });
});
