import { MEMBERS } from './zh-members.ts';
import { OPERATOR } from './zh-operator.ts';
import { PAGES } from './zh-pages.ts';
import { SHARED } from './zh-shared.ts';

/** Simplified Chinese, keyed by the English text. */
export const ZH: Readonly<Record<string, string>> = { ...SHARED, ...PAGES, ...MEMBERS, ...OPERATOR };
