/** How a picture came to be, in IPTC's vocabulary (cv.iptc.org/newscodes/digitalsourcetype). */
export type DigitalSource = 'trainedAlgorithmicMedia' | 'algorithmicMedia';

/** The URI of a digital source type; the whole statement that goes into a video's comment. */
export function digitalSourceUri(source: DigitalSource): string {
  return `http://cv.iptc.org/newscodes/digitalsourcetype/${source}`;
}

/** An XMP packet that says only how the picture was made: no prompt, no account, no time. */
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
