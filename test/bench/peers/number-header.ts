/** The header in which a paced request says its number, for the probe of the gateway. */
export const NUMBER_HEADER = 'x-bench-number'
