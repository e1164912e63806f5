/** No names: see the description of the package. */
declare const noNames: never
export type NoNames = typeof noNames
