/** What a command host is told and says. */

export interface Order {
  readonly args: readonly string[]
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>
}

export interface Done {
  readonly code: number
}

/** Ends what a command wrote, on either stream; no command writes it. */
export const END = '\u0000end\u0000'
