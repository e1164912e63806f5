/** Text from callers and providers, where people paste it or a terminal shows it. */

const safeInShell = /^[\w.:][\w.:-]*$/

/** Whether a shell reads a text as one word that means itself. */
export function isSafeInShell(text: string): boolean {
  return safeInShell.test(text)
}

/** A text as one line, without signs that move the cursor of a terminal or turn its direction. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
}
