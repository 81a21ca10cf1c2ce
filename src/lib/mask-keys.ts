const KEYS = [
  /\b(?:bearer|basic)\s+\S+/gi,
  // a signed token (JWT)
  /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g,
  /\b(?:sk|pk|rk|gsk|xai|nvapi|key|AIza|AKIA)[-_]?[\w*.-]*[\w*-]{8}/g,
];

/** An upstream's words without what looks like a credential: they are stored and logged. */
export function maskKeys(text: string): string {
  return KEYS.reduce((masked, pattern) => masked.replace(pattern, '[key]'), text);
}
