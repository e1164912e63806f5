/** What `replay --json` printed: an event a line. */
export function printedEvents(text: string): readonly Readonly<Record<string, unknown>>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** Their types. */
export function typesOf(text: string): readonly string[] {
  return printedEvents(text).map(({ type }) => String(type))
}
