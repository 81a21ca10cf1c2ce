const BYTES = 16;

/** Returns a random UUID, version 4. `crypto.randomUUID` exists only over https and on localhost; the console also works over plain http. */
export function newUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const variant = '89ab'.charAt((bytes[8] ?? 0) % 4);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-${variant}${digits.slice(17, 20)}-${digits.slice(20)}`;
}
