import { rm } from 'node:fs/promises'

/** Removing retries, each a little later than the one before (about ten seconds in all). */
const MAX_RETRIES = 20
const RETRY_MS = 50

/** Removes the folder of a gateway that was killed: its stores end by themselves, and write until they have. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, {
    recursive: true,
    force: true,
    maxRetries: MAX_RETRIES,
    retryDelay: RETRY_MS,
  })
}
