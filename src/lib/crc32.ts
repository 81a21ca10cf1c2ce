/** Reflected polynomial of CRC-32/ISO-HDLC, the one of zip and PNG. */
const POLYNOMIAL = 0xedb88320;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let register = byte;
  for (let bit = 0; bit < 8; bit += 1) {
    register = register & 1 ? (register >>> 1) ^ POLYNOMIAL : register >>> 1;
  }
  return register;
});

/** CRC-32 of bytes, unsigned. node:zlib has one only from Node 20.15 on. */
export function crc32(bytes: Uint8Array): number {
  let register = 0xffffffff;
  for (const byte of bytes) {
    register = (TABLE[(register ^ byte) & 0xff] ?? 0) ^ (register >>> 8);
  }
  return (register ^ 0xffffffff) >>> 0;
}
