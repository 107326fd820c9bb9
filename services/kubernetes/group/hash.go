package group

import (
	"crypto/sha256"
	"encoding/hex"
)

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
