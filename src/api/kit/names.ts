/** Names out of text that has blanks between them. */
export function namesIn(text: string): readonly string[] {
  return text.split(/\s+/).filter((name) => name !== '')
}

/**
 * Names that are taken or passed on and that the schema does not describe, blanks between them, by
 * the object that has them: `''` is the body, then as in `messages[]` and
 * `generationConfig.thinkingConfig`.
 */
export type AlsoKnown = Readonly<Record<string, string>>
