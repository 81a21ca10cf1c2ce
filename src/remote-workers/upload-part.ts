/** Size in bytes of every part of an upload but the last. An interrupted part is sent again, so no more than this is lost. */
export const UPLOAD_PART_BYTES = 4 * 2 ** 20;
