import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyCharacter } from '../../../test/factories/any-character.ts';
import { html } from './html.ts';

test('text is escaped, HTML is not, and empty values render nothing', () => {
  const inner = html`<b>${'<i>'}</b>`;
  const list = [html`<li>1</li>`, '<li>2'];
  expect(String(html`<p title="${`"'`}">${inner}${undefined}${null}${false}${0}<ul>${list}</ul></p>`)).toBe(
    '<p title="&quot;&#39;"><b>&lt;i&gt;</b>0<ul><li>1</li>&lt;li&gt;2</ul></p>',
  );
});

test('text cannot break out of its place', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const inside = String(html`<a href="${text}">${text}</a>`).slice('<a href="'.length, -'</a>'.length);
      expect(inside.match(/["'<>]/g)).toEqual(['"', '>']);
    }),
  );
});
