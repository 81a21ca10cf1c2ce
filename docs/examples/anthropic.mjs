// The Anthropic SDK against Tollgate. The SDK calls /v1/messages, which tollgate.yaml maps to the message endpoint.
//   TOLLGATE_URL=http://127.0.0.1:8080 TOLLGATE_KEY=$(cat .data/owner.key) node docs/examples/anthropic.mjs
import Anthropic from '@anthropic-ai/sdk';

const { TOLLGATE_URL = 'http://127.0.0.1:8080', TOLLGATE_KEY } = process.env;
const client = new Anthropic({ baseURL: TOLLGATE_URL, apiKey: TOLLGATE_KEY });

const message = await client.messages.create({
  model: 'tollgate/small',
  max_tokens: 200,
  messages: [{ role: 'user', content: 'Say hello to a newcomer.' }],
});
for (const block of message.content) {
  process.stdout.write(block.type === 'text' ? `${block.text}\n` : '');
}
process.stdout.write(`${message.usage.input_tokens} + ${message.usage.output_tokens} tokens\n`);
