/** Bytes of every part of an upload but its last. A part that is cut off is sent again, so no more than this is lost. */
export const UPLOAD_PART_BYTES = 4 * 2 ** 20;
