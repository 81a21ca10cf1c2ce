import { withHeadlines, withSection } from '../../bench/report/documents.ts';

const REPORT = '# Benchmarks\n\nHow to read it.\n\n## Ledger\n\nold\n\n| a |\n\n## Chat calls\n\nchat\n';

test('replaces the section with the same title and keeps the others', () => {
  expect(withSection(REPORT, 'Ledger', 'new\n')).toBe(
    '# Benchmarks\n\nHow to read it.\n\n## Ledger\n\nnew\n\n## Chat calls\n\nchat\n',
  );
});

test('appends a new section', () => {
  expect(withSection(REPORT, 'Ledger, grown', 'more')).toBe(`${REPORT}\n## Ledger, grown\n\nmore\n`);
});

test('replaces a quoted sentence, keeping its list mark and the lines around it', () => {
  const text = '- **1** call. <!-- bench: chat -->\nA word.\nOld. <!-- bench: ledger -->\n';
  expect(withHeadlines(text, { chat: '**2** calls.', reports: 'none' })).toBe(
    '- **2** calls. <!-- bench: chat -->\nA word.\nOld. <!-- bench: ledger -->\n',
  );
});
