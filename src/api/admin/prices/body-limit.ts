/** A document of as many prices as there may be, laid out for people, is smaller. */
export const PRICES_LIMIT_BYTES = 2 * 1024 * 1024
