const LONGEST = 64

/** Whether a text can name a project: a letter or digit, then those, `_`, `-` and `.`; 64 at most. */
export function isProjectName(text: string): boolean {
  return text.length <= LONGEST && /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text)
}
