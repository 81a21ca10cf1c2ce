/** How an image was made, in IPTC's vocabulary (cv.iptc.org/newscodes/digitalsourcetype). */
export type DigitalSource = 'trainedAlgorithmicMedia' | 'algorithmicMedia';

/** Returns the URI of a digital source type. A video's comment consists of just this URI. */
export function digitalSourceUri(source: DigitalSource): string {
  return `http://cv.iptc.org/newscodes/digitalsourcetype/${source}`;
}

/** Returns an XMP packet that states only how the image was made: no prompt, no account, no time. */
export function provenanceXmp(source: DigitalSource): string {
  return [
    '<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?>',
    '<x:xmpmeta xmlns:x="adobe:ns:meta/">',
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
    '<rdf:Description rdf:about="" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/">',
    `<Iptc4xmpExt:DigitalSourceType>${digitalSourceUri(source)}</Iptc4xmpExt:DigitalSourceType>`,
    '</rdf:Description></rdf:RDF></x:xmpmeta>',
    '<?xpacket end="r"?>',
  ].join('');
}
