/** Names out of text that has blanks between them. */
export function namesIn(text: string): readonly string[] {
  return text.split(/\s+/).filter((name) => name !== '')
}
