import { ProviderRegistry } from './provider-registry.ts';
import { providerSettingsSchema } from './provider-settings.ts';

const openai = (base_url: string) =>
  providerSettingsSchema.parse({ id: 'one', protocol: 'openai', base_url, api_key: 'k' });
const builtin = providerSettingsSchema.parse({ id: 'builtin', protocol: 'builtin' });

test('an update keeps unchanged providers and replaces changed ones', async () => {
  const registry = new ProviderRegistry([openai('https://a.example/v1'), builtin]);
  const [one, two] = [registry.find('one'), registry.find('builtin')];
  registry.update([openai('https://a.example/v1'), builtin]);
  expect(registry.find('one')).toBe(one);
  registry.update([openai('https://b.example/v1'), builtin]);
  expect(registry.find('one')).not.toBe(one);
  expect(registry.find('builtin')).toBe(two);
  registry.update([builtin]);
  expect(registry.find('one')).toBeUndefined();
  await registry.close();
  expect(registry.find('builtin')).toBeUndefined();
});

test.each([
  ['no base_url', { id: 'x', protocol: 'openai' }],
  ['another scheme', { id: 'x', protocol: 'openai', base_url: 'ftp://x' }],
  ['a misspelled member', { id: 'x', protocol: 'openai', base_url: 'https://x', apikey: 'k' }],
  ['an unknown protocol', { id: 'x', protocol: 'soap', base_url: 'https://x' }],
])('settings with %s are rejected', (_what, settings) => {
  expect(providerSettingsSchema.safeParse(settings).success).toBe(false);
});
