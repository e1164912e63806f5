const LARGEST = 2n ** 63n - 1n

/** Whether a text is a positive integer of 64 bits as it is written in decimal: ids that no double can hold. */
export function isPositiveInt64(text: string): boolean {
  return /^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= LARGEST
}
