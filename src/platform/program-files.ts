import { existsSync } from 'node:fs'

/** A file that exists at this path below the checkout and below every build. */
const LANDMARK = 'infra/pricebook.yaml'

function findRoot(): URL {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    if (existsSync(new URL(LANDMARK, folder))) return folder
    if (new URL('..', folder).href === folder.href)
      throw new Error(`${LANDMARK} is missing from the program`)
  }
}

let root: URL | undefined

/**
 * A file of the program by its path from the root of the checkout. The location of the calling code
 * is no help: a build joins many modules into one file.
 */
export function programFile(path: string): URL {
  return new URL(path, (root ??= findRoot()))
}
