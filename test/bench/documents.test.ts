import { withHeadlines, withSection } from '../../bench/report/documents.ts';

const REPORT = '# Benchmarks\n\nHow to read it.\n\n## Ledger\n\nold\n\n| a |\n\n## Chat calls\n\nchat\n';

test('a section takes the place of the one of its title, and the others stay', () => {
  expect(withSection(REPORT, 'Ledger', 'new\n')).toBe(
    '# Benchmarks\n\nHow to read it.\n\n## Ledger\n\nnew\n\n## Chat calls\n\nchat\n',
  );
});

test('a section that is not there yet comes last', () => {
  expect(withSection(REPORT, 'Ledger, grown', 'more')).toBe(`${REPORT}\n## Ledger, grown\n\nmore\n`);
});

test('a quoted sentence is replaced, with the mark of its list and without its neighbours', () => {
  const text = '- **1** call. <!-- bench: chat -->\nA word.\nOld. <!-- bench: ledger -->\n';
  expect(withHeadlines(text, { chat: '**2** calls.', reports: 'none' })).toBe(
    '- **2** calls. <!-- bench: chat -->\nA word.\nOld. <!-- bench: ledger -->\n',
  );
});
