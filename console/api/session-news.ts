import { BASE } from '../lib/location.ts';

/** All tabs of a browser share one session: its cookie. They tell each other when it changes. */
const channel = new BroadcastChannel(`tollgate-session ${BASE}`);

/** Tells the other tabs who is signed in: a text to compare, empty for nobody. */
export function announceSession(holder: string): void {
  channel.postMessage(holder);
}

/** Calls a function whenever another tab announces who is signed in. */
export function onOtherSession(hear: (holder: string) => void): void {
  channel.onmessage = ({ data }: MessageEvent<string>) => hear(data);
}
