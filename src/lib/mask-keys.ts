const KEYS = [
  /\b(?:bearer|basic)\s+\S+/gi,
  // a JSON Web Token (JWT)
  /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g,
  /\b(?:sk|pk|rk|gsk|xai|nvapi|key|AIza|AKIA)[-_]?[\w*.-]*[\w*-]{8}/g,
];

/** Masks anything in an upstream's message that looks like a credential, because the message is stored and logged. */
export function maskKeys(text: string): string {
  return KEYS.reduce((masked, pattern) => masked.replace(pattern, '[key]'), text);
}
