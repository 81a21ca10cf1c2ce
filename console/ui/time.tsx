import { useSettings } from '../api/settings.ts';
import { language } from '../lib/text.ts';
import { formatTime, formatTimeWithZone, relativeTime } from '../lib/time.ts';

export interface TimeProps {
  readonly at: string;
  /** Whether to show `2 min ago` as long as that is more useful than a date. */
  readonly relative?: boolean;
}

/** An instant in the user's time zone setting, with the zone in the tooltip. */
export function Time({ at, relative = false }: TimeProps) {
  const { zone } = useSettings();
  const text =
    (relative ? relativeTime(at, Date.now(), language()) : undefined) ?? formatTime(at, zone, language());
  return (
    <time class="time" dateTime={at} title={formatTimeWithZone(at, zone, language())}>
      {text}
    </time>
  );
}
