/** Durations in words for people. */

/** `+70 ms`, `+4.1 s`, `+3 min 5 s`, `+2 h 3 min`, `+3 d 4 h`; a clock may have been set back. */
export function formatElapsed(elapsedMs: number): string {
  return `${elapsedMs < 0 ? '-' : '+'}${formatDuration(Math.abs(elapsedMs))}`
}

/** `70 ms`, `4.1 s`, `3 min 5 s`, `2 h 3 min`, `3 d 4 h` of a duration that is not negative. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const seconds = Math.floor(ms / 1_000)
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  if (hours === 0) return `${minutes} min ${seconds % 60} s`
  if (hours < 24) return `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}
