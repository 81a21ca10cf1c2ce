/** Returns what arrived of a body, even when its connection was broken off. */
export async function receivedText(response: Response): Promise<string> {
  let text = '';
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
    }
  } catch (error) {
    // undici's word for it; it comes from another realm, so its class says nothing
    if ((error as Error).message !== 'terminated') {
      throw error;
    }
  }
  return text;
}
