/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "chacha20_reference.h"

#include <string.h>

#include "check.h"

static uint32_t rotate(uint32_t x, int n)
{
	return x << n | x >> (32 - n);
}

static void quarter_round(uint32_t x[16], int a, int b, int c, int d)
{
	x[a] += x[b];
	x[d] = rotate(x[d] ^ x[a], 16);
	x[c] += x[d];
	x[b] = rotate(x[b] ^ x[c], 12);
	x[a] += x[b];
	x[d] = rotate(x[d] ^ x[a], 8);
	x[c] += x[d];
	x[b] = rotate(x[b] ^ x[c], 7);
}

/* RFC 8439, section 2.3. */
static void block(uint8_t out[CHACHA20_BLOCK_SIZE], const uint32_t state[16])
{
	uint32_t x[16];

	memcpy(x, state, sizeof(x));
	for (int round = 0; round < 20; round += 2) {
		quarter_round(x, 0, 4, 8, 12);
		quarter_round(x, 1, 5, 9, 13);
		quarter_round(x, 2, 6, 10, 14);
		quarter_round(x, 3, 7, 11, 15);
		quarter_round(x, 0, 5, 10, 15);
		quarter_round(x, 1, 6, 11, 12);
		quarter_round(x, 2, 7, 8, 13);
		quarter_round(x, 3, 4, 9, 14);
	}
	for (int i = 0; i < 16; i++) {
		uint32_t word = x[i] + state[i];

		memcpy(out + 4 * i, &word, sizeof(word));
	}
}

void reference_expand(uint8_t *out, size_t len, const uint8_t key[CHACHA20_KEY_SIZE],
		      const uint32_t start[4])
{
	uint32_t state[16] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };
	uint8_t last[CHACHA20_BLOCK_SIZE];

	memcpy(state + 4, key, CHACHA20_KEY_SIZE);
	memcpy(state + 12, start, 4 * sizeof(*start));
	while (len) {
		size_t part = len < sizeof(last) ? len : sizeof(last);

		block(last, state);
		memcpy(out, last, part);
		if (!++state[12])
			++state[13];
		out += part;
		len -= part;
	}
}

#ifdef HAVE_OPENSSL
#include <limits.h>
#include <openssl/evp.h>

void openssl_expand(uint8_t *out, size_t len, const uint8_t key[CHACHA20_KEY_SIZE],
		    const uint32_t start[4])
{
	static EVP_CIPHER_CTX *context;
	int written = 0;

	if (!context)
		context = EVP_CIPHER_CTX_new();
	check(len <= INT_MAX, "more than OpenSSL takes at once");
	/* OpenSSL's IV is the four words. It reads the key before it writes. */
	check(context && EVP_EncryptInit_ex(context, EVP_chacha20(), NULL, key,
					    (const unsigned char *)start) == 1,
	      "OpenSSL has no ChaCha20");
	/* Encrypting zeros gives the key stream. */
	memset(out, 0, len);
	check(EVP_EncryptUpdate(context, out, &written, out, (int)len) == 1 && written == (int)len,
	      "OpenSSL encrypted %d bytes of %zu", written, len);
}
#endif
