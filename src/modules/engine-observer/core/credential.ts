/** What a header can carry: printable, without blanks. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/u;

/** The credential in a file's text. undefined: there is none in it that could be sent. */
export function credentialFrom(text: string): string | undefined {
  const credential = text.trim();
  return TOKEN.test(credential) ? credential : undefined;
}
