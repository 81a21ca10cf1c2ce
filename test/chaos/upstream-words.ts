/** Returns `count` words for an upstream to send, one token each. */
export function words(count: number): string[] {
  return Array.from({ length: count }, (_, index) => (index === 0 ? 'word' : ' word'));
}
