/**
 * Waits until all of them have settled, then throws the first failure: work that goes on after
 * another failure must not use what its caller has already released, and often fails only because
 * of that.
 */
export async function allSettledOrThrow<const Work extends readonly unknown[]>(
  work: Work,
): Promise<{ -readonly [Index in keyof Work]: Awaited<Work[Index]> }> {
  const all = Promise.all(work)
  // Awaited below, after the others have settled as well.
  all.catch(() => undefined)
  await Promise.allSettled(work)
  return all
}
