import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const unit = (name: string) =>
  readFileSync(new URL(`../../ops/systemd/tollgate-${name}.service`, import.meta.url), 'utf8');
const WORKERS = ['worker', 'gpu-worker', 'gpu-worker@'];

test.each(WORKERS)('%s lets runs end before it stops their engines', (name) => {
  expect(unit(name)).toMatch(/^KillMode=mixed$/m);
});

test('a worker that runs engines has no memory limit for them to hit, and survives them', () => {
  expect(unit('gpu-worker@')).not.toMatch(/^MemoryMax/m);
  expect(unit('gpu-worker@')).toMatch(/^OOMPolicy=continue$/m);
});

test.each(['api@', ...WORKERS])('%s is restarted as long as its database is unavailable', (name) => {
  expect(unit(name)).toMatch(/^\[Unit\]$[^[]*^StartLimitIntervalSec=0$/m);
  expect(unit(name)).toMatch(/^Restart=on-failure$/m);
});

const timerOf = (name: string) =>
  readFileSync(new URL(`../../ops/systemd/tollgate-${name}.timer`, import.meta.url), 'utf8');

test('the backup runs every night, and catches up after the host was off', () => {
  const timer = timerOf('backup');
  expect(timer).toMatch(/^OnCalendar=\*-\*-\* \d\d:\d\d:\d\d$/m);
  expect(timer).toMatch(/^Persistent=true$/m);
  expect(unit('backup')).toMatch(
    /^ExecStart=\/opt\/tollgate\/ops\/backup\/nightly.sh \/var\/lib\/tollgate-backups 30$/m,
  );
});

test('past months are packed every month, after the backup of that night', () => {
  const timer = timerOf('pack');
  expect(timer).toMatch(/^OnCalendar=\*-\*-02 05:/m);
  expect(timer).toMatch(/^Persistent=true$/m);
  expect(unit('pack')).toMatch(/^After=.*\btollgate-backup\.service\b/m);
  expect(unit('pack')).toMatch(
    /^ExecStart=\/usr\/bin\/node dist\/src\/operators\/cli\/main\.js archive pack$/m,
  );
});

test('the weekly drill restores the backup of that night, without access to the production database', () => {
  const timer = timerOf('drill');
  const hour = (text: string) => /^OnCalendar=.* (\d\d:\d\d):\d\d$/m.exec(text)?.[1] ?? '';
  expect(timer).toMatch(/^OnCalendar=Sun \*-\*-\* /m);
  expect(hour(timer) > hour(timerOf('backup'))).toBe(true);
  expect(timer).toMatch(/^Persistent=true$/m);
  expect(unit('drill')).toMatch(/^After=.*\btollgate-backup\.service\b/m);
  const folder = /^ExecStart=\S+nightly\.sh (\S+)/m.exec(unit('backup'))?.[1];
  expect(unit('drill')).toContain(`ExecStart=/opt/tollgate/ops/backup/drill.sh ${folder}\n`);
  expect(unit('drill')).not.toContain('owner.env');
  expect(unit('drill')).not.toContain('StateDirectory');
});
