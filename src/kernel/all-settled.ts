/**
 * Runs steps one after the other, also those after one that fails, then throws the first failure: one
 * that fails each time must not keep the others from being done.
 */
export async function runEach(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const step of steps)
    await step().catch((error: unknown) => {
      failures.push(error)
    })
  if (failures.length > 0) throw failures[0]
}

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
