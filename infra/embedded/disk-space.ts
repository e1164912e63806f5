import { statfsSync } from 'node:fs'

const MIB = 1024 * 1024

/**
 * Says, in words for the operator, that the disk of a folder has less free than its store needs to go on;
 * undefined where it has enough, or cannot be asked.
 */
export function spaceLack(folder: string, needBytes: number): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder)
    if (bavail * bsize >= needBytes) return undefined
    const [free, need] = [bavail * bsize, needBytes].map((bytes) => (bytes / MIB).toFixed(1))
    return `the disk of ${folder} has ${free} MiB free, and ${need} MiB are needed to go on`
  } catch {
    return undefined
  }
}

/** Describes missing space after a store has ended because of it, which a quota causes too. */
export function spaceLackOf(folder: string, needBytes: number, reason: string): string | undefined {
  const lack = spaceLack(folder, needBytes)
  if (lack !== undefined || !/no space left|quota exceeded/i.test(reason)) return lack
  return `no space is left for ${folder}`
}
