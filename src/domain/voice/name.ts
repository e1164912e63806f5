const SHORTEST = 8
const LONGEST = 256

/** Whether a text can name a voice: it begins with a letter and does not end in `-` or `_`. */
export function isVoiceName(text: string): boolean {
  return (
    text.length >= SHORTEST && text.length <= LONGEST && /^[A-Za-z][\w-]*[A-Za-z\d]$/.test(text)
  )
}
