/** JSON with ids as the bare numbers they are on this wire, beyond what a double holds. */
export function bare(body: object): string {
  return JSON.stringify(body).replace(/"int64:(\d+)"/g, '$1')
}

/** Digits that `bare` writes as a number. */
export const int64 = (digits: string): string => `int64:${digits}`
